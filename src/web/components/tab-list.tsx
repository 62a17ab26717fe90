/** The tabs: one stop for the Tab key, arrows between them. */
import { openTab, tab, tabs } from "../tabs.ts";

const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

export function TabList() {
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
