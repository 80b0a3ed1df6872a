const width = 760;
const rowHeight = 34;
const left = 300;
const scale = (width - left - 70) / 2.5;

/** Draws the ratios as bars in SVG; the line is the floor. */
export function drawChart(rows: { workload: { name: string; title: string }; ratio: number }[]): string {
  const height = rows.length * rowHeight + 50;
  const bars = rows.map(({ workload: { name, title }, ratio }, i) => {
    const y = 30 + i * rowHeight;
    const length = Math.min(ratio, 2.5) * scale;
    return `<text x="${left - 12}" y="${y + 15}" text-anchor="end">${name} ${title}</text>
<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="20" rx="3" fill="${ratio <= 1 ? '#2f9e62' : '#3b7dd8'}"/>
<text x="${(left + length + 8).toFixed(1)}" y="${y + 15}">${ratio.toFixed(2)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">
<title>What a request costs, as a ratio to the bare floor</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="${left}" y="18" fill="#555">CPU for each request, server and Postgres, as a ratio to the bare floor</text>
${bars.join('\n')}
<line x1="${left + scale}" x2="${left + scale}" y1="24" y2="${height - 14}" stroke="#c0392b" stroke-dasharray="4 3"/>
<text x="${left + scale + 5}" y="${height - 6}" fill="#c0392b">floor = 1</text>
</svg>
`;
}
