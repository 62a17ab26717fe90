/** The browser's own modal dialog: it traps the focus, and gives it back when it closes. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export interface DialogProps {
  title: string;
  /** Whether it takes as much of the screen as reading needs. */
  wide?: boolean;
  onClose: () => void;
  /** What gets the focus when it has closed; default, and where it gives nothing: what had it before. */
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
