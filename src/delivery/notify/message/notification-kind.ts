/**
 * The contract of one kind of destination: how a message is rendered, which URLs are allowed, and
 * how an attempt is sent. Each kind implements it in its own folder (see README.md).
 */
import type { Channel, SendingLimits } from '../../../../actors/delivery/notifier-port.ts';
import type { ProjectView } from '../../../../actors/platform/host/host-port.ts';
import { ATTEMPT_CAP_MAX } from '../../../../machines/delivery/attempt-cap.ts';
import type { DeliveryContext } from '../../../../machines/delivery/delivery.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import type { AddressGuard } from '../http/address-guard.ts';
import type { HttpExchange } from '../http/exchange.ts';

export interface NotificationKind {
  readonly limits: SendingLimits;
  readonly render: Renderer;
  /**
   * The reason why this URL is rejected, as a sentence; undefined if it is allowed. Absent for
   * mail.
   */
  readonly refuseUrl?: (url: string, guard: UrlGuard) => string | undefined;
  /** Undefined if the service is not configured to send to this kind. */
  open(deps: ChannelDeps): Channel | undefined;
}

/** Renders the body of a delivery in the form that the kind's channel sends. */
export type Renderer = (
  view: ProjectView,
  delivery: DeliveryContext,
  options: RenderOptions,
) => Uint8Array;

export interface RenderOptions {
  /** The delivery's id. */
  readonly id: string;
  /** Origin of links, without a trailing slash. */
  readonly publicUrl: string;
  /** Time of rendering, Unix ms. */
  readonly nowMs: number;
}

export type UrlGuard = Pick<AddressGuard, 'refuseUrl' | 'isExempt'>;

export interface ChannelDeps {
  /** Shared by all kinds; closed by the notifier. */
  readonly exchange: Pick<HttpExchange, 'post'>;
  readonly guard: UrlGuard;
  readonly mail?: MailServerDeps | undefined;
}

/** The configured mail server, and the reporting of its faults. */
export interface MailServerDeps {
  /** `SVC_SMTP_URL`; null = no mail server is configured. */
  readonly smtpUrl: string | null;
  /** See `MailerOptions`. */
  readonly name?: string | null;
  /** An address, or `Name <address>`. */
  readonly from: string;
  /** Origin of the service. Called late, because it is known only when the server listens. */
  readonly publicUrl: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Limits of most kinds that send over HTTP (HOOK-14). */
export const HTTP_LIMITS: SendingLimits = {
  attemptMs: 10_000,
  slots: 'web',
  spacingMs: 0,
  attemptsMax: ATTEMPT_CAP_MAX,
};
