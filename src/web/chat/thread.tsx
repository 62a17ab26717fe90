/** The turns of a conversation, or questions to begin one with. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { scrolls } from "../components/scrolls.ts";
import { AnswerView } from "./answer-view.tsx";
import { StarterQuestions } from "./starter-questions.tsx";
import { current } from "./store.ts";

/** A reader who has scrolled up by more pixels than this is reading: the thread no longer scrolls by itself. */
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
      {...scrolls}
      onScroll={({ currentTarget }) => {
        const { scrollHeight, scrollTop, clientHeight } = currentTarget;
        follows.current = scrollHeight - scrollTop - clientHeight < nearEnd;
      }}
    >
      {conversation === undefined || turns.length === 0 ? (
        <StarterQuestions />
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
