/** Small shared controls: a failure with a retry, a menu, a copy button, bound inputs. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, ComponentProps } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../browser.ts";

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

/** For an input or a text area whose text is a signal. */
export const boundTo = (text: Signal<string>) => ({
  value: text.value,
  onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
    text.value = currentTarget.value;
  },
});

/** For a button that opens and closes something. */
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

/** Copies text, also over plain HTTP, where browsers have no clipboard API. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
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
