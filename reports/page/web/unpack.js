"use strict";
// Large parts are compressed inside the page.
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function runUnpacked(id) {
  const element = document.createElement("script");
  element.textContent = await unpacked(id);
  document.head.append(element);
}
