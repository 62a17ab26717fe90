/** Small shared controls: a failure with a retry, a copy button, scrollable elements. */
import { useEffect, useState } from "preact/hooks";
import { announce } from "../browser.ts";

interface FailureNoteProps {
  message: string;
  onRetry?: (() => void) | undefined;
}

export function FailureNote({ message, onRetry }: FailureNoteProps) {
  return (
    <div class="failure" role="alert">
      <p>{message}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}

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
  return (
    <button type="button" class="quiet" aria-label={label} onClick={copy}>
      {said ?? "Copy"}
    </button>
  );
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
