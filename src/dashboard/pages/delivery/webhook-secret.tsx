/**
 * The signing secret of a webhook: the dialog that rotates it, and its one display. Until stored by
 * the user it exists only in the memory of this page.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { SelectField } from '../../components/fields.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import type { Destination } from '../../data/catalogue.ts';
import { useMutation } from '../../data/mutation.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { texts as all } from './destination-texts.ts';
import { titleOf } from './destination-words.ts';

const texts = all.rotate;

export type Rotated = ResponseOf<'AlertService', 'rotateWebhookSecret'>;
/** Response of a creation or a rotation; only the first response contains the secret. */
export type WithSecret = Pick<Rotated, 'webhookSecret' | 'secretAvailable'>;

const OVERLAPS = [
  { value: '86400', title: texts.day },
  { value: '14400', title: texts.hours },
  { value: '3600', title: texts.hour },
  { value: '0', title: texts.now },
];

export interface RotateDialogProps {
  readonly destination: Destination;
  readonly isOpen: boolean;
  /** Initial overlap, seconds: 0 if the replaced secret was lost. */
  readonly overlapSeconds?: number;
  readonly onClose: () => void;
  readonly onRotated: (rotated: Rotated) => void;
}

export function RotateDialog(props: RotateDialogProps): VNode {
  const { destination, isOpen, overlapSeconds = 86_400, onClose, onRotated } = props;
  const overlap = useSignal(String(overlapSeconds));
  const rotate = useMutation('AlertService', 'rotateWebhookSecret');
  return (
    <ConfirmDialog
      title={texts.title(titleOf(destination))}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.action}
      needs="EDITOR"
      look={overlap.value === '0' ? 'danger' : 'main'}
      mutation={rotate}
      request={() => ({ name: destination.name, overlapSeconds: Number(overlap.peek()) })}
      onSaved={(response) => {
        rotate.reset();
        onRotated(response);
      }}
    >
      <SelectField
        label={texts.overlap}
        value={overlap.value}
        options={OVERLAPS}
        help={overlap.value === '0' ? texts.nowEffect : texts.overlapEffect}
        onChange={(value) => {
          overlap.value = value;
        }}
      />
      {destination.secretOverlapEndsUnix !== undefined && <p>{texts.running}</p>}
    </ConfirmDialog>
  );
}

export interface WebhookSecretProps {
  readonly destination: Destination;
  readonly displayed: WithSecret;
  readonly onStored: () => void;
  readonly onRotated: RotateDialogProps['onRotated'];
}

/** The secret, once; if the first response was lost, a way to create another. */
export function WebhookSecret(props: WebhookSecretProps): VNode {
  const { destination, displayed, onStored, onRotated } = props;
  const isAsking = useSignal(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.scrollIntoView({ block: 'center' }), []);
  return (
    <div ref={place}>
      <SecretOnce
        label={texts.secret(titleOf(destination))}
        secret={displayed.secretAvailable ? displayed.webhookSecret : undefined}
        unavailableHelp={texts.lostHelp}
        onStored={onStored}
        replace={
          <>
            <button
              type="button"
              onClick={() => {
                isAsking.value = true;
              }}
            >
              {all.one.rotate}
            </button>
            <button type="button" class="quiet" onClick={onStored}>
              {texts.stored}
            </button>
          </>
        }
      />
      <RotateDialog
        destination={destination}
        isOpen={isAsking.value}
        overlapSeconds={0}
        onClose={() => {
          isAsking.value = false;
        }}
        onRotated={onRotated}
      />
    </div>
  );
}
