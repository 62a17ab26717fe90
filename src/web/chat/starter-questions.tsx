/** What an empty conversation shows: three questions to begin with. */
import { chatModels } from "../node/state.ts";
import type { Settings } from "./conversation.ts";
import { focusComposer } from "./panels.ts";
import { changeSettings, lastSettings } from "./store.ts";
import { send } from "./turn.ts";

interface Example {
  question: string;
  about: string;
  settings: Partial<Settings>;
}

/** At temperature 0: whoever tries a node first wants its likeliest answer, and chance takes a small model astray. */
const examples: readonly Example[] = [
  {
    question: "What is the capital of France?",
    about: "A plain question",
    settings: { temperature: 0 },
  },
  {
    question: "How do I stop this node?",
    about: "Answered from the documents",
    // One passage holds the answer, and a small model is easily distracted, also by a system prompt.
    settings: { grounded: "on", passages: 1, system: "", temperature: 0 },
  },
  {
    question: "Write a haiku about autumn.",
    about: "Something to write",
    settings: { temperature: 0 },
  },
];

export function StarterQuestions() {
  const begin = ({ question, settings }: Example): void => {
    changeSettings(settings);
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
            <button
              type="button"
              disabled={chatModels.value.length === 0}
              onClick={() => begin(example)}
            >
              <span>{example.question}</span>
              <span class="note">{example.about}</span>
            </button>
          </li>
        ))}
      </ul>
      {advice !== undefined && <p class="note">{advice}</p>}
    </div>
  );
}
