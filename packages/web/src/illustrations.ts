import { type Html, html } from './html.ts';

// Without the stylesheet they have no size, and so are not shown.
/** An arch within an arch, beside the product's name. */
export const logo: Html = html`<svg class="mark" viewBox="0 0 32 32" width="0" height="0" aria-hidden="true" focusable="false"><path class="mark-wall" d="M3 30V15a13 13 0 0 1 26 0v15z"/><path class="mark-way" d="M11 30V16a5 5 0 0 1 10 0v14z"/></svg>`;

const CENTRE = 240;
const SPRING = 250;
const FOOT = 520;
const LIGHT = 52;
/** The arches from the inside out: the depth of the stones, and how many form the arc (odd, for a keystone). */
const ARCHES = [
  { depth: 30, stones: 9 },
  { depth: 34, stones: 11 },
  { depth: 38, stones: 15 },
  { depth: 42, stones: 17 },
  { depth: 46, stones: 21 },
];
const JOINT = 2.5;

/** A gate: arches of dressed stone, one behind the other, with light at the end. */
export const gateIllustration: Html = html`<svg class="gate-drawing" viewBox="0 0 480 520" preserveAspectRatio="xMidYMin slice" width="0" height="0" aria-hidden="true" focusable="false"><path class="light" d="M${CENTRE - LIGHT} ${FOOT}V${SPRING}a${LIGHT} ${LIGHT} 0 0 1 ${2 * LIGHT} 0V${FOOT}z"/>${ARCHES.map(drawArch)}</svg>`;

function drawArch({ depth, stones }: { depth: number; stones: number }, index: number): Html {
  const inside = ARCHES.slice(0, index).reduce((sum, arch) => sum + arch.depth, LIGHT);
  const radius = inside + depth / 2;
  const left = CENTRE - radius;
  const right = CENTRE + radius;
  const arc = `A${radius} ${radius} 0 0 1 ${right} ${SPRING}`;
  const stone = (Math.PI * radius) / stones - JOINT;
  const dashes = `${stone.toFixed(2)} ${JOINT}`;
  // The mortar is one line behind the stones; each jamb begins with a whole stone below the arc.
  return html`<path class="mortar mortar-${index}" stroke-width="${depth}" d="M${left} ${FOOT}V${SPRING}${arc}V${FOOT}"/><g class="arch arch-${index}" stroke-width="${depth - JOINT}" stroke-dasharray="${dashes}" stroke-dashoffset="${-JOINT / 2}"><path d="M${left} ${SPRING}${arc}"/><path d="M${left} ${SPRING}V${FOOT}M${right} ${SPRING}V${FOOT}"/></g>`;
}
