/** A sparkline of the last two minutes. */

const width = 240;
const height = 48;
const points = 60;

export interface SparklineProps {
  name: string;
  unit: string;
  values: readonly number[];
  digits: number;
}

export function Sparkline({ name, unit, values, digits }: SparklineProps) {
  const now = values.at(-1) ?? 0;
  const most = Math.max(...values, 1);
  const step = width / (points - 1);
  const left = width - step * (values.length - 1);
  const place = (value: number, at: number): string =>
    `${(left + at * step).toFixed(1)},${(height - 2 - (value / most) * (height - 6)).toFixed(1)}`;
  const line = values.map(place).join(" ");
  const text = `${now.toFixed(digits)} ${unit}`;
  return (
    <figure class="sparkline">
      <figcaption>
        <span>{name}</span>
        <strong>{text}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} over the last two minutes: now ${text}, at most ${Math.max(...values, 0).toFixed(digits)}.`}
      >
        <polygon points={`${left.toFixed(1)},${height} ${line} ${width},${height}`} />
        <polyline points={line} />
      </svg>
    </figure>
  );
}
