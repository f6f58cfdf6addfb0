/**
 * Form fields: label above, help and problem below, both read out with the field. A field holds no
 * value: its value is in a draft.
 */
import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';

/** Properties of every field. */
export interface FieldProps {
  readonly label: string;
  /** What to enter, in a sentence. */
  readonly help?: ComponentChildren;
  /** Why the value is not valid, in a sentence that names a valid one. */
  readonly problem?: string | undefined;
}

/** Attributes of the inner element that link it to its texts. */
interface FieldAttributes {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

/** Wrapper of any input, and the base of the fields below. */
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

/** Optional attributes of an input. */
interface InputAttributes {
  /** On-screen keyboard. */
  readonly inputMode?: 'numeric' | 'decimal' | 'email' | 'url';
  readonly maxLength?: number;
  readonly placeholder?: string;
}

/** A single-line field or, with `rows`, a multi-line one. Attributes of `input` are passed on. */
export interface TextFieldProps extends FieldProps, InputAttributes {
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** Number of lines; absent for a single line. */
  readonly rows?: number;
  /** Values offered while typing. */
  readonly suggestions?: readonly { readonly value: string; readonly title: string }[];
}

/** A text, or a number as typed; the page interprets it. Autofill is off. */
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

/** A choice from a fixed list; a draft holds the selected value. */
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

/** A checkbox and its sentence. */
export interface CheckFieldProps {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly help?: ComponentChildren;
}

/** A checkbox with its label. */
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

/** Related fields in one `fieldset`. */
export interface FieldGroupProps {
  readonly legend: string;
  readonly help?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Wrapper of checkboxes or fields that form one choice. */
export function FieldGroup({ legend, help, children }: FieldGroupProps): VNode {
  return (
    <fieldset class="field-group">
      <legend>{legend}</legend>
      {help !== undefined && <small class="effect">{help}</small>}
      {children}
    </fieldset>
  );
}
