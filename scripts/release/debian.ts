/**
 * The program as a Debian package: below /usr/lib/svc, with the command /usr/bin/svc, a user of its
 * own, the hardened unit, and settings in /etc/svc that an upgrade keeps.
 */
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unitText } from '../../src/cli/install.ts';

export interface DebianOptions {
  /** Folder of the assembled program. */
  readonly program: string;
  readonly version: string;
  /** Debian's name of the processor. */
  readonly arch: string;
  /** Unpacked size of the program. */
  readonly bytes: number;
}

/** Makes the tree that `dpkg-deb --build` packs. */
export function assembleDebian(tree: string, options: DebianOptions): void {
  const { program, version, arch, bytes } = options;
  cpSync(program, join(tree, 'usr/lib/svc'), { recursive: true });
  mkdirSync(join(tree, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/svc/bin/svc', join(tree, 'usr/bin/svc'));
  write(tree, 'usr/lib/systemd/system/svc.service', unit());
  write(tree, 'usr/lib/sysusers.d/svc.conf', 'u svc - "VM monitoring service" /var/lib/svc\n');
  write(tree, 'etc/svc/svc.env', SETTINGS, 0o640);
  write(
    tree,
    'DEBIAN/control',
    `Package: svc
Version: ${version}
Architecture: ${arch}
Maintainer: VM monitoring <svc@localhost>
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6 (>= 2.28), libstdc++6
Recommends: systemd
Suggests: nats-server, libvirt-daemon
Section: net
Priority: optional
Description: monitoring, alerting and automation access for virtual machines
 Keeps seven days of metrics for each VM, reads them out by RPC, PromQL and scrape targets,
 evaluates alert rules and notifies by mail, webhook and chat. Brings its own Node.
`,
  );
  write(tree, 'DEBIAN/conffiles', '/etc/svc/svc.env\n');
  write(tree, 'DEBIAN/postinst', POSTINST, 0o755);
  write(tree, 'DEBIAN/prerm', PRERM, 0o755);
  write(tree, 'DEBIAN/postrm', POSTRM, 0o755);
}

/**
 * With the user of the package instead of one that is created at each start, because its files have
 * an owner.
 */
function unit(): string {
  return unitText('service', { command: ['/usr/bin/svc'] })
    .replace(/^DynamicUser=yes$/m, 'User=svc\nGroup=svc')
    .replace(/^ConfigurationDirectoryMode=.*$/m, 'ConfigurationDirectoryMode=0750');
}

const SETTINGS = `# Settings of the service, one NAME=value per line; "svc help serve" lists them.
# After a change: systemctl restart svc
`;

const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers svc.conf
  elif ! getent passwd svc >/dev/null; then
    useradd --system --user-group --home-dir /var/lib/svc --shell /usr/sbin/nologin svc
  fi
  chgrp svc /etc/svc /etc/svc/svc.env
  chmod 750 /etc/svc
  mkdir -p /var/lib/svc
  chown svc:svc /var/lib/svc
  chmod 700 /var/lib/svc
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl enable --quiet svc.service
    systemctl restart svc.service
  fi
fi
`;

/** Node's compiled code is only valid for this version. */
const PRERM = `#!/bin/sh
set -e
rm -rf /usr/lib/svc/node_modules/.cache
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now --quiet svc.service
fi
`;

/**
 * The history of the VMs and the keys of people stay. Only the operator removes them: "rm -r
 * /var/lib/svc".
 */
const POSTRM = `#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
  rm -rf /etc/svc
  if [ -d /var/lib/svc ]; then echo "svc: the data in /var/lib/svc was left in place"; fi
fi
`;

function write(tree: string, path: string, text: string, mode = 0o644): void {
  const file = join(tree, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
}
