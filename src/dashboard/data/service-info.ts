/** User-facing information about the service: version, sampling interval and available features. */
import { read } from './call.ts';
import { type Loader, useLoaded } from './loaded.ts';
import type { ResponseOf } from './rpc-types.ts';

export type ServiceInfo = ResponseOf<'ProjectService', 'getServiceInfo'>;

/** It changes only when the service restarts. */
export function useServiceInfo(): Loader<ServiceInfo> {
  return useLoaded('serviceInfo', (options) =>
    read('ProjectService', 'getServiceInfo', {}, options),
  );
}
