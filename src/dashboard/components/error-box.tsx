/** The cause of a failure and the next step, with the service's own message and reason. */
import type { ComponentChildren, VNode } from 'preact';
import type { RpcError } from '../data/rpc-error.ts';
import { explain } from '../messages/errors.ts';
import { NoticeBox } from './notice-box.tsx';

/** An error of a call and what failed. */
export interface ErrorBoxProps {
  readonly error: RpcError;
  /** First line: what failed. Defaults to the explanation. */
  readonly title?: string;
  readonly actions?: ComponentChildren;
}

/**
 * The explanation of the reason, then the service's message, then the reason and correlation id for
 * a report. For a missing resource the message only repeats the address.
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
