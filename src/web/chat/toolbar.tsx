/** The conversation's title, and what can be done with it as a whole. */
import { useRef } from "preact/hooks";
import { download } from "../download.ts";
import { type Conversation, untitled } from "./conversation.ts";
import { exportFormats, fileNameOf } from "./export.ts";
import { listOpen, settingsOpen } from "./panels.ts";
import { current } from "./store.ts";

export function Toolbar() {
  const conversation = current.value;
  return (
    <div class="toolbar">
      <button
        type="button"
        class="quiet list-button"
        aria-expanded={listOpen.value}
        aria-controls="conversations"
        onClick={() => {
          listOpen.value = !listOpen.value;
        }}
      >
        Conversations
      </button>
      <h2 id="conversation-title">{conversation?.title ?? untitled}</h2>
      <div class="row">
        {conversation !== undefined && conversation.turns.length > 0 && (
          <ExportMenu conversation={conversation} />
        )}
        <button
          type="button"
          class="quiet"
          aria-expanded={settingsOpen.value}
          aria-controls="settings"
          onClick={() => {
            settingsOpen.value = !settingsOpen.value;
          }}
        >
          Settings
        </button>
      </div>
    </div>
  );
}

function ExportMenu({ conversation }: { conversation: Conversation }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (menu.current !== null) menu.current.open = false;
  };
  return (
    <details
      class="menu"
      ref={menu}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) close();
      }}
      onKeyDown={({ key }) => key === "Escape" && close()}
    >
      <summary>
        Export<span class="visually-hidden"> this conversation</span>
      </summary>
      <div>
        {Object.entries(exportFormats).map(([name, { extension, type, toText }]) => (
          <button
            key={name}
            type="button"
            class="quiet"
            onClick={() => {
              download(fileNameOf(conversation, extension), type, toText(conversation));
              close();
            }}
          >
            As {name}
          </button>
        ))}
      </div>
    </details>
  );
}
