/** The definition of a virtual machine for libvirt (https://libvirt.org/formatdomain.html). */
export interface Domain {
  readonly name: string;
  /** Number of the VM in its lab, from 1, for its addresses. */
  readonly number: number;
  readonly vcpus: number;
  readonly memoryMib: number;
  /** Absolute paths of its disk and of its kernel's output. */
  readonly disk: string;
  readonly console: string;
  /** Folder of the kernel and the initramfs. */
  readonly image: string;
}

/**
 * Software emulation, which runs on every machine, even inside a virtual one. The balloon reports
 * the guest's memory only with a period, and a network has counters only on a bridge.
 */
export function domainXml(domain: Domain): string {
  const { name, number, vcpus, memoryMib, disk, console, image } = domain;
  const address = `10.0.2.${15 + number}`;
  const mac = `52:54:00:6c:61:${number.toString(16).padStart(2, '0')}`;
  return `<domain type="qemu">
  <name>${name}</name>
  <vcpu>${vcpus}</vcpu>
  <memory unit="MiB">${memoryMib}</memory>
  <cpu mode="maximum"/>
  <os>
    <type arch="x86_64" machine="pc">hvm</type>
    <kernel>${image}/vmlinuz</kernel>
    <initrd>${image}/initrd.gz</initrd>
    <cmdline>console=ttyS0 quiet panic=-1 cryptomgr.notests lab.name=${name} lab.address=${address}</cmdline>
  </os>
  <features>
    <acpi/>
    <apic/>
    <tcg><tb-cache unit="MiB">32</tb-cache></tcg>
  </features>
  <clock offset="utc"/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type="usb" model="none"/>
    <memballoon model="virtio"><stats period="2"/></memballoon>
    <disk type="file" device="disk">
      <driver name="qemu" type="raw"/>
      <source file="${disk}"/>
      <target dev="vda" bus="virtio"/>
    </disk>
    <interface type="bridge">
      <source bridge="lab0"/>
      <mac address="${mac}"/>
      <model type="virtio"/>
    </interface>
    <channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>
    <serial type="file"><source path="${console}"/><target port="0"/></serial>
  </devices>
</domain>
`;
}
