/** What an empty conversation shows: three questions to begin with. */
import { chatModels } from "../node/state.ts";
import { send } from "./exchange.ts";
import { focusComposer } from "./panels.ts";
import { changeSettings } from "./store.ts";

const examples = [
  { question: "What is the capital of France?", about: "A plain question", grounded: false },
  {
    question: "How do I add an API key?",
    about: "Answered from the node's documents",
    grounded: true,
  },
  {
    question: "Write a Python function that reverses a string.",
    about: "Some code",
    grounded: false,
  },
] as const;

export function Beginning() {
  const begin = (question: string, grounded: boolean): void => {
    changeSettings({ grounded });
    void send(question);
    focusComposer();
  };
  return (
    <div class="beginning">
      <h3>Ask this node something</h3>
      <p class="lead">
        It answers on this machine. What you write stays between your browser and the node.
      </p>
      <ul>
        {examples.map(({ question, about, grounded }) => (
          <li key={question}>
            <button
              type="button"
              disabled={chatModels.value.length === 0}
              onClick={() => begin(question, grounded)}
            >
              <span>{question}</span>
              <span class="note">{about}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
