/** The turns of a conversation, or what one can begin with. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { AnswerView } from "./answer-view.tsx";
import { Beginning } from "./beginning.tsx";
import { current } from "./store.ts";

/** Who has scrolled up further than this is reading, and is left there. */
const nearEnd = 80;

export function Thread() {
  const element = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const conversation = current.value;
  const turns = conversation?.turns ?? [];
  useLayoutEffect(() => {
    follows.current = true;
  }, [conversation?.id, turns.length]);
  useLayoutEffect(() => {
    if (follows.current) element.current?.scrollTo({ top: element.current.scrollHeight });
  });
  return (
    <section
      class="thread"
      ref={element}
      aria-label="Questions and answers"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        const { scrollHeight, scrollTop, clientHeight } = currentTarget;
        follows.current = scrollHeight - scrollTop - clientHeight < nearEnd;
      }}
    >
      {conversation === undefined || turns.length === 0 ? (
        <Beginning />
      ) : (
        turns.map((turn, at) =>
          turn.role === "user" ? (
            <article key={turn.id} class="turn question" aria-label="You">
              <p class="as-written">{turn.content}</p>
            </article>
          ) : (
            <AnswerView
              key={turn.id}
              turn={turn}
              conversationId={conversation.id}
              isLast={at === turns.length - 1}
            />
          ),
        )
      )}
    </section>
  );
}
