/**
 * Forms of values in a checkpoint, composed of small ones. A record names a form for every field of
 * its type: a field that is added to the type and forgotten here does not compile.
 *
 *     record   a mask (flags, and which optional fields are present), then the present fields
 *     list     the number of items, then each
 */
import { malformed } from '../../../telemetry/samples/byte-reader.ts';
import type { CheckpointReader, CheckpointWriter } from './checkpoint-bytes.ts';

/** How one type of value is written and read. Reading throws `DamagedBytes`. */
export interface Form<T> {
  /** FLAG: its bit is the value. MAYBE, ABSENT: stored if defined, otherwise undefined or absent. */
  readonly inMask?: 'FLAG' | 'MAYBE' | 'ABSENT';
  write(to: CheckpointWriter, value: T): void;
  read(from: CheckpointReader): T;
}

/** A form for every field of a type, optional ones included. */
export type Fields<T> = { readonly [K in keyof T]-?: Form<T[K]> };

/** A form of objects. */
export interface RecordForm<T> extends Form<T> {
  /** Reads into an existing object, so that it keeps the shape that its factory gave it. */
  readInto<O extends T>(from: CheckpointReader, object: O): O;
}

interface Field {
  readonly name: string;
  readonly form: Form<unknown>;
  /** Bit in the mask; 0: always stored. */
  readonly bit: number;
}

/** Objects with these fields. Their order is stored. */
export function record<T extends object>(fields: Fields<T>): RecordForm<T> {
  let bits = 1;
  const all: Field[] = Object.entries<Form<unknown>>(fields).map(([name, form]) => {
    const bit = form.inMask ? bits : 0;
    if (form.inMask) bits *= 2;
    return { name, form, bit };
  });
  // Fields are accessed by name here; `Fields` has checked that names and forms agree.
  type Named = Record<string, unknown>;
  const readInto = <O extends T>(from: CheckpointReader, object: O): O => {
    const to = object as unknown as Named;
    const mask = bits > 1 ? from.varint() : 0;
    if (mask >= bits) throw malformed('an unknown field');
    for (const { name, form, bit } of all) {
      const isSet = (mask & bit) !== 0;
      if (form.inMask === 'FLAG') to[name] = isSet;
      else if (bit === 0 || isSet) to[name] = form.read(from);
      else if (form.inMask === 'MAYBE') to[name] = undefined;
    }
    return object;
  };
  return {
    write(to, object) {
      const values = object as unknown as Named;
      let mask = 0;
      for (const { name, form, bit } of all) {
        const value = values[name];
        if (form.inMask === 'FLAG' ? value === true : value !== undefined) mask |= bit;
      }
      if (bits > 1) to.varint(mask);
      for (const { name, form, bit } of all) {
        const isStored = bit === 0 || (form.inMask !== 'FLAG' && (mask & bit) !== 0);
        if (isStored) form.write(to, values[name]);
      }
    },
    read: (from) => readInto(from, {} as T),
    readInto,
  };
}

/** Any double. */
export const number: Form<number> = {
  write: (to, value) => to.number(value),
  read: (from) => from.number(),
};

/** A time, Unix ms: any double, short if it is close to the time before it. */
export const time: Form<number> = {
  write: (to, value) => to.time(value),
  read: (from) => from.time(),
};

/** Any text. */
export const text: Form<string> = {
  write: (to, value) => to.text(value),
  read: (from) => from.text(),
};

/** A field that is true or false. */
export const flag: Form<boolean> = {
  inMask: 'FLAG',
  write: (to, value) => to.u8(value ? 1 : 0),
  read: (from) => from.u8() === 1,
};

/** A field that may be undefined. */
export function maybe<T>({ write, read }: Form<T>): Form<T | undefined> {
  // Called only for defined values; T itself may include undefined.
  return { inMask: 'MAYBE', write: (to, value) => write(to, value as T), read };
}

/** A field that may be absent. */
export function optional<T>(form: Form<T>): Form<T | undefined> {
  return { ...maybe(form), inMask: 'ABSENT' };
}

/** One of a few words, stored as its position in `known`. Any other word is stored as text. */
export function word<T extends string>(known: readonly T[]): Form<T> {
  return {
    write(to, value) {
      const position = known.indexOf(value) + 1;
      to.varint(position);
      if (position === 0) to.text(value);
    },
    read(from) {
      const position = from.varint();
      // A word of another version of this program is kept as it is.
      const value = position === 0 ? (from.text() as T) : known[position - 1];
      if (value === undefined) throw malformed('an unknown word');
      return value;
    },
  };
}

/** A number from a fixed list. */
export function oneOf<T extends number>(known: readonly T[]): Form<T> {
  return {
    write: (to, value) => to.varint(value),
    read(from) {
      const value = from.varint();
      const found = known.find((each) => each === value);
      if (found === undefined) throw malformed('an unknown value');
      return found;
    },
  };
}

/** A list. @param itemBytes minimum size of an item, used to detect a damaged length */
export function list<T>({ write, read }: Form<T>, itemBytes = 1): Form<T[]> {
  return {
    write(to, items) {
      to.varint(items.length);
      for (const item of items) write(to, item);
    },
    read(from) {
      const items: T[] = [];
      for (let left = from.count(itemBytes); left > 0; left--) items.push(read(from));
      return items;
    },
  };
}

/** A map, in its order. */
export function map<K, V>(key: Form<K>, value: Form<V>): Form<Map<K, V>> {
  return {
    write(to, entries) {
      to.varint(entries.size);
      for (const [k, v] of entries) {
        key.write(to, k);
        value.write(to, v);
      }
    },
    read(from) {
      const entries = new Map<K, V>();
      for (let left = from.count(2); left > 0; left--)
        entries.set(key.read(from), value.read(from));
      return entries;
    },
  };
}

/** Objects of several kinds, each named by its property `by`. The order of kinds is stored. */
export function variants<B extends string, T extends { readonly [K in B]: string }>(
  by: B,
  kinds: { readonly [K in T[B]]: Fields<Omit<Extract<T, { readonly [P in B]: K }>, B>> },
): Form<T> {
  // The type of `kinds` has checked that fields and forms of each kind agree.
  const all = Object.entries<Fields<object>>(kinds).map(
    ([kind, fields]) => [kind, record<object>(fields)] as const,
  );
  const positions = new Map(all.map(([kind], i) => [kind, i]));
  return {
    write(to, value) {
      const position = positions.get(value[by]) ?? -1;
      const [, form] = all[position] ?? [];
      if (!form) throw new RangeError(`The kind ${value[by]} has no form`);
      to.varint(position);
      form.write(to, value);
    },
    read(from) {
      const [kind, form] = all[from.index(all.length)] ?? [];
      if (kind === undefined || !form) throw malformed('an unknown kind');
      return form.readInto(from, { [by]: kind }) as T;
    },
  };
}
