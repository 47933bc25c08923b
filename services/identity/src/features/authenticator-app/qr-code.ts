import { type Html, html } from '@gatehouse/web/html';

/** The margin that scanners need (ISO/IEC 18004), in modules. */
const BORDER = 4;

/** A QR code as SVG in the page, which no request is made for. Dark on light in every colour scheme, as not all apps read the inverse. */
export async function qrCode(text: string, label: string): Promise<Html> {
  const { encodeQR } = await import('qr');
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: BORDER });
  const size = rows.length;
  const path = rows
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return html`<svg class="qr-code" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}
