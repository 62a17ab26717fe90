/** A button that copies a text and says that it did. */
import { useEffect, useState } from "preact/hooks";
import { announce } from "../announce.ts";
import { copyText } from "../clipboard.ts";

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
