/** The turns of a conversation, or example questions for an empty one. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, scrolls } from "../components/controls.tsx";
import { firstCollections } from "../documents/collections.ts";
import { chatModels } from "../node/state.ts";
import { AnswerView } from "./answer-view.tsx";
import type { Settings } from "./conversation.ts";
import { TurnImages } from "./images.tsx";
import { changeSettings, current, focusComposer, lastSettings } from "./store.ts";
import { send } from "./turn.ts";

/** If the user has scrolled up by more pixels than this, the thread stops following the answer. */
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
              {turn.images !== undefined && <TurnImages id={turn.id} count={turn.images} />}
              {turn.content !== "" && <p class="as-written">{turn.content}</p>}
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

interface Example {
  question: string;
  about: string;
  settings?: Partial<Settings>;
}

const examples: readonly Example[] = [
  { question: "What is the capital of France?", about: "A plain question" },
  {
    question: "How do I stop this node?",
    about: "Answered from the documents",
    // One passage has the answer, and a small model is easily distracted, also by a system prompt.
    settings: { grounded: "on", passages: 1, system: "" },
  },
  { question: "Write a haiku about autumn.", about: "Something to write" },
];

function StarterQuestions() {
  const begin = async ({ question, settings }: Example): Promise<void> => {
    await firstCollections;
    // A first try should get the likeliest answer, and small models stray easily.
    changeSettings({ ...settings, temperature: 0 });
    void send(question);
    focusComposer();
  };
  const { model } = lastSettings();
  const advice = chatModels.value.find(({ name }) => name === model)?.advice;
  return (
    <div class="starter-questions">
      <h3>Ask this node something</h3>
      <p class="lead">
        It answers on this machine. What you write stays between your browser and the node.
      </p>
      <ul>
        {examples.map((example) => (
          <li key={example.question}>
            <Button disabled={chatModels.value.length === 0} onClick={() => void begin(example)}>
              <span>{example.question}</span>
              <span class="note">{example.about}</span>
            </Button>
          </li>
        ))}
      </ul>
      {advice !== undefined && <p class="note">{advice}</p>}
    </div>
  );
}
