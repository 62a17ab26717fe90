/** How well a passage matches, as a bar and a number. */

export function ScoreBar({ score }: { score: number }) {
  const percent = Math.max(0, Math.min(1, score)) * 100;
  return (
    <div class="score">
      <div class="bar" aria-hidden="true">
        <div style={{ width: `${percent.toFixed(1)}%` }} />
      </div>
      <span>
        <span class="visually-hidden">Score </span>
        {score.toFixed(2)}
      </span>
    </div>
  );
}
