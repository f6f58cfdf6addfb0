/** A VM's text table, read between two looks at its lock. */
import { TEXT_COUNT, TEXT_TABLE } from './memory.ts';
import type { SharedHead } from './shared-head.ts';

/** Texts by the number that the VM's rows have for them; undefined when it makes no sense. */
export function textsOf(head: SharedHead, header: Float64Array): readonly string[] | undefined {
  const start = header[TEXT_TABLE] as number;
  const count = header[TEXT_COUNT] as number;
  const texts = [''];
  if (start < 0) return texts;
  const table = head.slice(start, 2 * count);
  if (table === undefined) return undefined;
  for (let i = 0; i < table.length; i += 2) {
    const text = head.text(table[i] as number, table[i + 1] as number);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return texts;
}
