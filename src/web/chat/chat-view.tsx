/** The chat tab: the list of conversations, the current one, and its settings. */
import { Button, FailureNote, Menu, toggles } from "../components/controls.tsx";
import { nodeFailure, readiness, refreshNode } from "../node/state.ts";
import { Composer } from "./composer.tsx";
import { type Conversation, exportFormats, fileNameOf, untitled } from "./conversation.ts";
import { ConversationList } from "./conversation-list.tsx";
import { SettingsPanel } from "./settings-panel.tsx";
import { current, isPersisted, listOpen, settingsOpen } from "./store.ts";
import { Thread } from "./thread.tsx";

export function ChatView() {
  return (
    <div class={`chat-layout${settingsOpen.value ? " with-settings" : ""}`}>
      <ConversationList open={listOpen.value} />
      <section class="conversation" aria-labelledby="conversation-title">
        <Toolbar />
        {settingsOpen.value && <SettingsPanel />}
        <Thread />
        <div class="bottom">
          <Notices />
          <Composer />
        </div>
      </section>
    </div>
  );
}

function Notices() {
  const failure = nodeFailure.value;
  if (failure !== undefined) {
    return <FailureNote message={failure.message} onRetry={() => void refreshNode()} />;
  }
  const { status, reasons = [] } = readiness.value ?? {};
  return (
    <>
      {reasons.length > 0 && (
        <p class="note" role={status === "ready" ? undefined : "status"}>
          {status !== "ready" && "The node is not ready yet. "}
          {reasons.join(" ")}
        </p>
      )}
      {!isPersisted.value && (
        <p class="note" role="status">
          This browser does not keep the conversations: its storage is full or switched off.
        </p>
      )}
    </>
  );
}

function Toolbar() {
  const conversation = current.value;
  return (
    <div class="toolbar">
      <Button
        label="Conversations"
        class="quiet list-button"
        aria-controls="conversations"
        {...toggles(listOpen)}
      />
      <h2 id="conversation-title">{conversation?.title ?? untitled}</h2>
      <div class="row">
        {conversation !== undefined && conversation.turns.length > 0 && (
          <ExportMenu conversation={conversation} />
        )}
        <Button
          label="Settings"
          class="quiet"
          aria-controls="settings"
          {...toggles(settingsOpen)}
        />
      </div>
    </div>
  );
}

function ExportMenu({ conversation }: { conversation: Conversation }) {
  const summary = (
    <>
      Export<span class="visually-hidden"> this conversation</span>
    </>
  );
  return (
    <Menu class="menu" summary={summary}>
      {(close) => (
        <div>
          {Object.entries(exportFormats).map(([name, { extension, type, toText }]) => (
            <Button
              key={name}
              class="quiet"
              onClick={() => {
                download(fileNameOf(conversation, extension), type, toText(conversation));
                close();
              }}
            >
              As {name}
            </Button>
          ))}
        </div>
      )}
    </Menu>
  );
}

function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
