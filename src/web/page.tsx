/** The page: its header, tabs, views and dialogs. */
import { announcement } from "./browser.ts";
import { ChatView } from "./chat/chat-view.tsx";
import { giveKey, giveNoKey, keyQuestion } from "./client.ts";
import { Button, TextDialog } from "./components/controls.tsx";
import { DocumentsView } from "./documents/documents-view.tsx";
import { ReaderDialog } from "./documents/reader-dialog.tsx";
import { openTab, tab, tabs, theme, toggleTheme } from "./frame.ts";
import { KnowledgeView } from "./knowledge/knowledge-view.tsx";
import { ModelsView } from "./models/models-view.tsx";
import { NodeView } from "./node/node-view.tsx";

const views = {
  chat: ChatView,
  documents: DocumentsView,
  knowledge: KnowledgeView,
  models: ModelsView,
  node: NodeView,
};

export function Page() {
  return (
    <>
      <header class="top">
        <h1>
          <Logo />
          Paddock
        </h1>
        <TabList />
        <div class="row">
          <a class="plain" href="/docs">
            API<span class="visually-hidden"> documentation</span>
          </a>
          <Button class="quiet" onClick={toggleTheme}>
            {theme.value === "dark" ? "Light" : "Dark"}
            <span class="visually-hidden"> colours</span>
          </Button>
        </div>
      </header>
      <main>
        {tabs.map(({ id }) => {
          const View = views[id];
          return (
            <div
              key={id}
              class={`view ${id}`}
              role="tabpanel"
              id={`panel-${id}`}
              aria-labelledby={`tab-${id}`}
              hidden={tab.value !== id}
              // Scrollable elements must be focusable; in the chat, that is the thread.
              tabIndex={id === "chat" ? undefined : 0}
            >
              {tab.value === id && <View />}
            </div>
          );
        })}
      </main>
      <div class="visually-hidden" role="status">
        {announcement}
      </div>
      <ReaderDialog />
      <KeyDialog />
    </>
  );
}

function KeyDialog() {
  if (keyQuestion.value === undefined) return null;
  return (
    <TextDialog
      title="This node wants an API key"
      label="API key"
      action="Use this key"
      reason={keyQuestion.value}
      note="It is stored in this tab until you close it, and sent to this node only."
      field={{ type: "password", spellcheck: false }}
      onText={giveKey}
      onClose={giveNoKey}
    />
  );
}

function Logo() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M8 9v15M16 9v15M24 9v15M5 14h22M5 20h22" />
    </svg>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/** One stop for the Tab key, with arrow keys between tabs. */
function TabList() {
  const move = (event: KeyboardEvent, at: number): void => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    openTab(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Parts of this page">
      {tabs.map(({ id, name }, at) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-selected={tab.value === id}
          aria-controls={`panel-${id}`}
          tabIndex={tab.value === id ? 0 : -1}
          onClick={() => openTab(id)}
          onKeyDown={(event) => move(event, at)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
