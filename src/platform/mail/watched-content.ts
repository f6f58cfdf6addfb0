/**
 * Reports whether the whole of a mail was handed to the connection: only then may a server that gave
 * no answer have taken it (RFC 5321, section 4.2.5). nodemailer reads a mail once the server has
 * answered DATA with 354.
 */
import { PassThrough, type Readable } from 'node:stream';

interface ComposedMail {
  readonly message: {
    messageId(): string;
    processFunc(through: (content: Readable) => Readable): void;
  };
}

export function watchedContent() {
  const sent = new Set<string>();
  return {
    /** For nodemailer's step `stream`. */
    plugin({ message }: ComposedMail, done: (error?: Error | null) => void): void {
      const messageId = message.messageId();
      message.processFunc((content) => {
        const passed = new PassThrough();
        content.on('error', (error) => passed.destroy(error));
        passed.on('end', () => void sent.add(messageId));
        return content.pipe(passed);
      });
      done();
    },
    wasSent: (messageId: string): boolean => sent.has(messageId),
    forget: (messageId: string): void => void sent.delete(messageId),
  };
}
