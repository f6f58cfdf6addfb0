/**
 * Boot ids as numbers, so that one can be an entry of a column. A number is a part of the text's
 * digest: the same on every thread, and nothing has to be remembered, however many boots there are.
 */
import { hash } from 'node:crypto';

/** 52 bits: what a double tells apart, and two of a VM's boots practically never share. */
const HEX_DIGITS = 13;

/** NaN for '': the source told none. */
export function bootNumber(text: string): number {
  if (text === '') return Number.NaN;
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, HEX_DIGITS), 16);
}
