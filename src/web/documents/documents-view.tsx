/** The room of documents: collections, what is in them, and how more gets in. */
import { useEffect } from "preact/hooks";
import { FailureNote } from "../components/failure-note.tsx";
import { askForKey } from "../key.ts";
import { CollectionList } from "./collection-list.tsx";
import { CollectionView } from "./collection-view.tsx";
import { access, loadCollections, shown } from "./collections.ts";
import { watchTakingIn } from "./watch.ts";

export function DocumentsView() {
  useEffect(() => void loadCollections({ asks: true }), []);
  useEffect(watchTakingIn, []);
  return (
    <div class="page-column">
      <h2>Documents</h2>
      <p class="lead">Drop files here, and the node answers from them. They stay on the node.</p>
      <Room />
    </div>
  );
}

function Room() {
  const state = access.value;
  const store = shown.value;
  if (state.state === "refused") {
    return (
      <section aria-label="What is missing">
        <p>
          Your key does not open documents: it lacks the scope <code>documents</code>. Ask whoever
          runs the node for a key that has it. You can still ask questions.
        </p>
        <p class="note">{state.reason}</p>
        <button type="button" onClick={() => void askForKey("Enter a key that opens documents.")}>
          Use another key
        </button>
      </section>
    );
  }
  const failure =
    state.state === "failed" ? (
      <FailureNote
        message={state.failure.message}
        onRetry={() => void loadCollections({ asks: true })}
      />
    ) : null;
  if (store === undefined) {
    return (
      failure ?? (
        <p class="note">
          {state.state === "open"
            ? "Your key is bound to collections that are not there."
            : "Looking …"}
        </p>
      )
    );
  }
  return (
    <>
      {failure}
      <CollectionList />
      <CollectionView store={store} />
    </>
  );
}
