/** Where files are dropped or chosen. */
import { useRef } from "preact/hooks";
import { maxFileBytes, nameOf, shown } from "./collections.ts";
import { dropNote, isDragging } from "./dropping.ts";
import { sizeText } from "./size-text.ts";
import { giveFiles } from "./uploads.ts";

export function DropArea() {
  const field = useRef<HTMLInputElement>(null);
  const store = shown.value;
  const most = maxFileBytes.value;
  return (
    <div class={`drop-area${isDragging.value ? " dragging" : ""}`}>
      <p>
        Drop files or folders here to add them to “
        <bdi>{store === undefined ? "" : nameOf(store)}</bdi>”, or
      </p>
      <button type="button" class="primary" onClick={() => field.current?.click()}>
        Choose files
      </button>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          giveFiles([...(currentTarget.files ?? [])]);
          // So that the same file can be chosen again.
          currentTarget.value = "";
        }}
      />
      <p class="note">
        PDF, Word, PowerPoint, Excel, EPUB, e-mail, HTML, Markdown, text, CSV, JSON and source code
        {most !== undefined && `, at most ${sizeText(most)} each`}
      </p>
      {dropNote.value !== undefined && <p role="alert">{dropNote.value}</p>}
    </div>
  );
}
