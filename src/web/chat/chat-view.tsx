/** The chat: conversations, the one on the page, and its settings. */

import { FailureNote } from "../components/failure-note.tsx";
import { nodeFailure, readiness, refreshNode } from "../node/state.ts";
import { Composer } from "./composer.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { listOpen, settingsOpen } from "./panels.ts";
import { SettingsPanel } from "./settings-panel.tsx";
import { isPersisted } from "./store.ts";
import { Thread } from "./thread.tsx";
import { Toolbar } from "./toolbar.tsx";

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
      {status === "ready"
        ? reasons.length > 0 && <p class="note">{reasons.join(" ")}</p>
        : reasons.length > 0 && (
            <p class="note" role="status">
              The node is not ready yet. {reasons.join(" ")}
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
