/** The conversation's model, system prompt and sampling. */
import { useEffect, useId, useState } from "preact/hooks";
import { ModelField } from "../components/controls.tsx";
import { waitingNote } from "../models/facts.ts";
import { chatModels, modelList, pollNode, whileVisible } from "../node/state.ts";
import { mostTokens, type NumberSetting } from "./conversation.ts";
import { changeSettings, chooseModel, lastSettings } from "./store.ts";

interface NumberField {
  name: NumberSetting;
  label: string;
  note: string;
  min: number;
  max?: number;
  step: number | "any";
}

const numbers: readonly NumberField[] = [
  {
    name: "temperature",
    label: "Temperature",
    note: "0 always takes the likeliest token; higher is more varied.",
    min: 0,
    max: 2,
    step: "any",
  },
  {
    name: "top_p",
    label: "Top p",
    note: "Draws only from the likeliest tokens that make up this share.",
    min: 0,
    max: 1,
    step: "any",
  },
  { name: "max_tokens", label: "Most tokens", note: "Where an answer is cut.", min: 1, step: 1 },
  {
    name: "seed",
    label: "Seed",
    note: "The same seed and question give the same answer.",
    min: 0,
    step: 1,
  },
  {
    name: "passages",
    label: "Most passages",
    note: "For answers from your documents. Fewer suit a small model.",
    min: 1,
    step: 1,
  },
];

export function SettingsPanel() {
  // Models are pulled and unloaded while the panel is open.
  useEffect(() => whileVisible(pollNode), []);
  const settings = lastSettings();
  const model = chatModels.value.find(({ name }) => name === settings.model);
  const id = useId();
  const defaults: Record<NumberSetting, string | undefined> = {
    temperature: model && `${model.temperature}`,
    top_p: model && `${model.top_p}`,
    max_tokens: model && model.n_predict > 0 ? `${model.n_predict}` : `${mostTokens}`,
    seed: "random",
    passages: "as the node",
  };
  return (
    <section id="settings" class="settings" aria-label="Settings of this conversation">
      <ModelField
        label="Model"
        models={chatModels.value}
        value={settings.model}
        note={waitingNote(modelList.value.find(({ id }) => id === settings.model))}
        onChoose={chooseModel}
      />
      <div class="field">
        <label for={`${id}-system`}>System prompt</label>
        <textarea
          id={`${id}-system`}
          rows={3}
          placeholder="None"
          value={settings.system}
          onInput={({ currentTarget }) => changeSettings({ system: currentTarget.value })}
        />
      </div>
      <div class="numbers">
        {numbers.map((field) => (
          <NumberInput key={field.name} field={field} fallback={defaults[field.name]} />
        ))}
      </div>
      <p class="note">An empty field leaves the choice to the model's own default.</p>
    </section>
  );
}

/** An empty field shows the `fallback`. */
function NumberInput({ field, fallback }: { field: NumberField; fallback: string | undefined }) {
  const { name, label, note, ...limits } = field;
  const id = `${useId()}-${name}`;
  // While a number is being typed, the text is not always one.
  const [text, setText] = useState<string>();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="number"
        {...limits}
        placeholder={fallback}
        aria-describedby={`${id}-note`}
        value={text ?? `${lastSettings()[name] ?? ""}`}
        onBlur={() => setText(undefined)}
        onInput={({ currentTarget: { value, valueAsNumber, validity } }) => {
          setText(value);
          if (value === "" && !validity.badInput) changeSettings({ [name]: undefined });
          else if (validity.valid) changeSettings({ [name]: valueAsNumber });
        }}
      />
      <p id={`${id}-note`} class="note">
        {note}
      </p>
    </div>
  );
}
