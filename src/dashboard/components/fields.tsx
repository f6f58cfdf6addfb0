/**
 * Fields of a form: label above, help and problem below, both read out with the field. A field holds
 * nothing: its value is in a draft.
 */
import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';

/** What every field has. */
export interface FieldProps {
  readonly label: string;
  /** What belongs into it, in a sentence. */
  readonly help?: ComponentChildren;
  /** Why its value cannot be used, in a sentence that says what would do. */
  readonly problem?: string | undefined;
}

/** Attributes of the element inside a field: they tie it to the texts around it. */
interface FieldAttributes {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

/** Around any input: what the fields below are made of. */
export function Field(
  props: FieldProps & { readonly children: (attributes: FieldAttributes) => VNode },
): VNode {
  const { label, help, problem, children } = props;
  const id = useId();
  const helpId = `${id}-help`;
  const isDescribed = help !== undefined || problem !== undefined;
  return (
    <div class="form-field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(isDescribed && { 'aria-describedby': helpId }),
        ...(problem !== undefined && { 'aria-invalid': true }),
      })}
      {isDescribed && (
        <small id={helpId} class="effect">
          {problem === undefined ? help : <span class="problem">{problem}</span>}
        </small>
      )}
    </div>
  );
}

/** What may be said of an input beside its texts. */
interface InputAttributes {
  /** The keyboard of a phone. */
  readonly inputMode?: 'numeric' | 'decimal' | 'email' | 'url';
  readonly maxLength?: number;
  readonly placeholder?: string;
}

/** A line or, with `rows`, several lines of text; attributes of `input` are passed on. */
export interface TextFieldProps extends FieldProps, InputAttributes {
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** Several lines. */
  readonly rows?: number;
  /** Values that are offered while typing. */
  readonly suggestions?: readonly { readonly value: string; readonly title: string }[];
}

/** A text, or a number as it is typed: what it means, the page decides. Nothing is filled in by itself. */
export function TextField(props: TextFieldProps): VNode {
  const { label, help, problem, value, onInput, rows, suggestions, ...input } = props;
  const listId = useId();
  return (
    <Field label={label} help={help} problem={problem}>
      {(attributes) =>
        rows !== undefined ? (
          <textarea
            {...attributes}
            rows={rows}
            maxLength={input.maxLength}
            value={value}
            onInput={({ currentTarget }) => onInput(currentTarget.value)}
          />
        ) : (
          <>
            <input
              type="text"
              {...input}
              {...attributes}
              {...(suggestions && { list: listId })}
              value={value}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              onInput={({ currentTarget }) => onInput(currentTarget.value)}
            />
            {suggestions && (
              <datalist id={listId}>
                {suggestions.map((one) => (
                  <option key={one.value} value={one.value}>
                    {one.title}
                  </option>
                ))}
              </datalist>
            )}
          </>
        )
      }
    </Field>
  );
}

/** One of a fixed list; a draft holds what is chosen. */
export interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly title: string }[];
  readonly onChange: (value: string) => void;
}

/** One of several. */
export function SelectField(props: SelectFieldProps): VNode {
  const { label, help, problem, value, options, onChange } = props;
  return (
    <Field label={label} help={help} problem={problem}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A switch with its sentence behind it. */
export interface CheckFieldProps {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly help?: ComponentChildren;
}

/** A box to tick, its label beside it. */
export function CheckField({ label, isChecked, onChange, help }: CheckFieldProps): VNode {
  const id = useId();
  const helpId = `${id}-help`;
  return (
    <div class="check-field">
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        {...(help !== undefined && { 'aria-describedby': helpId })}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {help !== undefined && (
        <small id={helpId} class="effect">
          {help}
        </small>
      )}
    </div>
  );
}

/** Fields that belong together, as one `fieldset`. */
export interface FieldGroupProps {
  readonly legend: string;
  readonly help?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Around boxes or fields that are one choice together. */
export function FieldGroup({ legend, help, children }: FieldGroupProps): VNode {
  return (
    <fieldset class="field-group">
      <legend>{legend}</legend>
      {help !== undefined && <small class="effect">{help}</small>}
      {children}
    </fieldset>
  );
}
