/** The list of conversations: start, select, rename and delete them. */
import { useState } from "preact/hooks";
import { Button, Dialog } from "../components/controls.tsx";
import type { Conversation } from "./conversation.ts";
import {
  conversations,
  current,
  focusComposer,
  listOpen,
  remove,
  rename,
  select,
  startConversation,
} from "./store.ts";
import { stop } from "./turn.ts";

export function ConversationList({ open }: { open: boolean }) {
  const leave = (): void => {
    listOpen.value = false;
    focusComposer();
  };
  return (
    <nav
      id="conversations"
      class={`conversations${open ? " open" : ""}`}
      aria-label="Conversations"
    >
      <Button
        label="New conversation"
        class="new"
        onClick={() => {
          startConversation();
          leave();
        }}
      />
      <ul>
        {conversations.value.map((conversation) => (
          <Item
            key={conversation.id}
            conversation={conversation}
            onChoose={() => {
              select(conversation.id);
              leave();
            }}
          />
        ))}
      </ul>
    </nav>
  );
}

function Item({ conversation, onChoose }: { conversation: Conversation; onChoose: () => void }) {
  const [mode, setMode] = useState<"shown" | "renaming" | "deleting">("shown");
  const { id, title } = conversation;
  const isCurrent = current.value?.id === id;
  if (mode === "renaming") return <Renaming {...conversation} onEnd={() => setMode("shown")} />;
  return (
    <li class={isCurrent ? "current" : ""}>
      <Button label={title} class="title" aria-current={isCurrent} onClick={onChoose} />
      <span class="actions">
        <Action name="Rename" of={title} drawing={pencil} onClick={() => setMode("renaming")} />
        <Action name="Delete" of={title} drawing={bin} onClick={() => setMode("deleting")} />
      </span>
      {mode === "deleting" && (
        <Dialog title="Delete this conversation?" onClose={() => setMode("shown")}>
          <p>“{title}” is stored in this browser only, and cannot be brought back.</p>
          <div class="row end">
            <Button label="Keep it" onClick={() => setMode("shown")} />
            <Button
              label="Delete it"
              class="primary"
              onClick={() => {
                stop(id);
                remove(id);
                focusComposer();
              }}
            />
          </div>
        </Dialog>
      )}
    </li>
  );
}

/** Paths of 16 by 16 units. */
const pencil = "M3 13l.6-3L11 2.6 13.4 5 6 12.4z";
const bin = "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9";

interface ActionProps {
  name: string;
  of: string;
  drawing: string;
  onClick: () => void;
}

/** Drawn, so that a row has room for it beside its title: rows that grew would move others under the pointer. */
function Action({ name, of, drawing, onClick }: ActionProps) {
  return (
    <Button class="quiet" title={name} about={`${name} ${of}`} onClick={onClick}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={drawing} />
      </svg>
    </Button>
  );
}

function Renaming({ id, title, onEnd }: { id: string; title: string; onEnd: () => void }) {
  const [text, setText] = useState(title);
  const submit = (event: Event): void => {
    event.preventDefault();
    rename(id, text);
    onEnd();
  };
  return (
    <li>
      <form class="renaming" onSubmit={submit}>
        <input
          aria-label="Title of the conversation"
          ref={(field) => field?.focus()}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={({ key }) => key === "Escape" && onEnd()}
        />
        <button type="submit" class="quiet">
          Save
        </button>
      </form>
    </li>
  );
}
