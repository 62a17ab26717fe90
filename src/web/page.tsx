/** The frame of the page: a header with three tabs, and what each shows. */
import { announcement } from "./announce.ts";
import { ChatView } from "./chat/chat-view.tsx";
import { KnowledgeView } from "./knowledge/knowledge-view.tsx";
import { NodeView } from "./node/node-view.tsx";
import { KeyDialog } from "./parts/key-dialog.tsx";
import { TabList } from "./parts/tab-list.tsx";
import { tab, tabs } from "./tabs.ts";
import { theme, toggleTheme } from "./theme.ts";

const views = { chat: ChatView, knowledge: KnowledgeView, node: NodeView };

export function Page() {
  return (
    <>
      <header class="top">
        <h1>
          <Mark />
          Paddock
        </h1>
        <TabList />
        <div class="row">
          <a class="plain" href="/docs">
            API<span class="unseen"> documentation</span>
          </a>
          <button type="button" class="quiet" onClick={toggleTheme}>
            {theme.value === "dark" ? "Light" : "Dark"}
            <span class="unseen"> colours</span>
          </button>
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
              // What scrolls must take the focus; in the chat, the thread does.
              tabIndex={id === "chat" ? undefined : 0}
            >
              {tab.value === id && <View />}
            </div>
          );
        })}
      </main>
      <div class="unseen" role="status">
        {announcement}
      </div>
      <KeyDialog />
    </>
  );
}

/** A fence, which is what a paddock has. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M8 9v15M16 9v15M24 9v15M5 14h22M5 20h22" />
    </svg>
  );
}
