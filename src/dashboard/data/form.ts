/** A change with fields to fill in. Input survives a reload and the end of the session. */
import { useEffect } from 'preact/hooks';
import { type Draft, typing, useDraft } from './draft.ts';
import { type Mutation, useMutation } from './mutation.ts';
import type { MutationName, RequestOf, ResponseOf, ServiceName } from './rpc-types.ts';

export interface Form<Request, Response, Fields extends object> {
  readonly mutation: Mutation<Request, Response>;
  readonly draft: Draft<Fields>;
  /** The current input. */
  readonly fields: Fields;
  readonly type: (changes: Partial<Fields>) => void;
}

export interface FormParts<Fields extends object> {
  /** Names the draft. */
  readonly key: string;
  readonly initial: Fields;
  /** Fields that are never stored. */
  readonly secrets?: readonly (keyof Fields & string)[];
  /** Called if earlier input was restored. */
  readonly onRestored?: () => void;
}

/** The form while the component is mounted. */
export function useForm<S extends ServiceName, N extends MutationName<S>, Fields extends object>(
  service: S,
  method: N,
  { key, initial, secrets = [], onRestored }: FormParts<Fields>,
): Form<Omit<RequestOf<S, N>, 'requestId'>, ResponseOf<S, N>, Fields> {
  const mutation = useMutation(service, method);
  const draft = useDraft(key, initial, secrets);
  useEffect(() => {
    if (draft.isTyped()) onRestored?.();
  }, [draft]);
  return { mutation, draft, fields: draft.value.value, type: typing(draft, mutation) };
}
