/** Shared controls: buttons, menus, dialogs, facts, a failure with a retry, bound inputs. */
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentProps } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { announce } from "../browser.ts";
import { failureOf } from "../failure.ts";

type ButtonProps = ComponentProps<"button"> & {
  label?: ComponentChildren;
  /** For screen readers, after the label. */
  about?: string;
};

export function Button({ label, about, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest}>
      {label}
      {children}
      {about !== undefined && <span class="visually-hidden"> {about}</span>}
    </button>
  );
}

interface FailureNoteProps {
  message: string;
  onRetry?: (() => void) | undefined;
}

export function FailureNote({ message, onRetry }: FailureNoteProps) {
  return (
    <div class="failure" role="alert">
      <p>{message}</p>
      {onRetry !== undefined && <Button label="Retry" onClick={onRetry} />}
    </div>
  );
}

interface MenuProps {
  class: string;
  summary: ComponentChildren;
  children: (close: () => void) => ComponentChildren;
}

/** Closes at Escape, and when the focus leaves it. */
export function Menu({ class: name, summary, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (menu.current !== null) menu.current.open = false;
  };
  return (
    <details
      class={name}
      ref={menu}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) close();
      }}
      onKeyDown={({ key }) => {
        if (key !== "Escape") return;
        close();
        menu.current?.querySelector("summary")?.focus();
      }}
    >
      <summary>{summary}</summary>
      {children(close)}
    </details>
  );
}

export const boundTo = (text: Signal<string>) => ({
  value: text.value,
  onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
    text.value = currentTarget.value;
  },
});

export const toggles = (open: Signal<boolean>) => ({
  "aria-expanded": open.value,
  onClick: () => {
    open.value = !open.value;
  },
});

const shownMs = 1600;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(setSaid, shownMs, undefined);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async (): Promise<void> => {
    const outcome = (await copyText(text)) ? "Copied" : "Could not copy";
    setSaid(outcome);
    announce(outcome);
  };
  return <Button label={said ?? "Copy"} class="quiet" aria-label={label} onClick={copy} />;
}

/** For scrollable elements: they must be focusable, or the keyboard cannot scroll them. */
export const scrolls = { tabIndex: 0 } as const;

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP, browsers have no clipboard API: copies a selection.
    const before = document.activeElement;
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) before.focus();
    return copied;
  }
}

interface DialogProps {
  title: string;
  /** Whether it is wide enough to read documents. */
  wide?: boolean;
  onClose: () => void;
  /** Element to focus after closing. Default, also for null: the one focused before. */
  focusAfter?: () => HTMLElement | null;
  children: ComponentChildren;
}

export function Dialog({ title, wide = false, onClose, focusAfter, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      const after = focusAfter?.() ?? before;
      if (after instanceof HTMLElement) after.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={wide ? "wide" : undefined} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface TextDialogProps {
  title: string;
  label: string;
  action: string;
  reason?: string;
  note?: string;
  field?: ComponentProps<"input">;
  /** Closes the dialog when it settles; a failure is shown. */
  onText: (text: string) => void | Promise<void>;
  onClose: () => void;
}

/** Asks for one line of text. */
export function TextDialog(props: TextDialogProps) {
  const { title, label, action, reason, note, field, onText, onClose } = props;
  const text = useSignal(`${field?.defaultValue ?? ""}`);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || text.value.trim() === "") return;
    setBusy(true);
    try {
      await onText(text.value.trim());
      onClose();
    } catch (error) {
      setFailure(failureOf(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {reason !== undefined && <p id={`${id}-reason`}>{reason}</p>}
        <label for={id}>{label}</label>
        <input
          id={id}
          required
          autocomplete="off"
          aria-describedby={reason && `${id}-reason ${id}-note`}
          {...field}
          {...boundTo(text)}
        />
        {note !== undefined && (
          <p id={`${id}-note`} class="note">
            {note}
          </p>
        )}
        {failure !== undefined && <FailureNote message={failure} />}
        <div class="row end">
          <Button label="Cancel" onClick={onClose} />
          <button type="submit" class="primary" disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export type Fact = readonly [name: string, value: string | number];

export function Facts({
  class: name = "facts",
  facts,
}: {
  class?: string;
  facts: readonly Fact[];
}) {
  return (
    <dl class={name}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ModelFieldProps {
  label: string;
  models: readonly { name: string }[];
  value: string | undefined;
  /** What the choice leads to. */
  note?: string | undefined;
  onChoose: (name: string) => void;
}

export function ModelField({ label, models, value, note, onChoose }: ModelFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={note && `${id}-note`}
        onChange={({ currentTarget }) => onChoose(currentTarget.value)}
      >
        {models.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {note !== undefined && (
        <p id={`${id}-note`} class="note" role="status">
          {note}
        </p>
      )}
    </div>
  );
}
