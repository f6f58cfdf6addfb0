/** Why something failed and what to do next, with the service's own sentence and reason. */
import type { ComponentChildren, VNode } from 'preact';
import type { RpcError } from '../data/rpc-error.ts';
import { explain } from '../messages/errors.ts';
import { NoticeBox } from './notice-box.tsx';

/** An error of a call, and what the reader was about to do. */
export interface ErrorBoxProps {
  readonly error: RpcError;
  /** What could not be done: the first line. Left out, the explanation is the first line. */
  readonly title?: string;
  readonly actions?: ComponentChildren;
}

/**
 * The explanation of the error's reason, then what the service said, then reason and correlation id
 * for a report. Of what is not there the service repeats only the address.
 */
export function ErrorBox({ error, title, actions }: ErrorBoxProps): VNode {
  const { what, next } = explain(error);
  return (
    <NoticeBox tone="error" title={title ?? what} announce="alert" actions={actions}>
      {title !== undefined && <p>{what}.</p>}
      <p>{next}</p>
      <p class="weak">
        {!error.isDisconnected && error.reason !== 'NOT_FOUND' && error.message !== '' && (
          <span class="said">{error.message} </span>
        )}
        <code>{error.reason}</code>
        {error.metadata.correlation !== undefined && <code> {error.metadata.correlation}</code>}
      </p>
    </NoticeBox>
  );
}
