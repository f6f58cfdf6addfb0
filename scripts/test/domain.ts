/**
 * In a process of `npm test` this stands for the module `async-hook-domain`, by which tap finds the
 * test that caused an error which nobody caught. That one follows every promise: a third of the CPU
 * time of a run. Here `batch.ts` gives such an error to the test that is running.
 */
export class Domain {
  readonly onerror: (error: unknown, type: string) => void;

  constructor(onerror: (error: unknown, type: string) => void) {
    this.onerror = onerror;
  }

  destroy(): void {}
}
