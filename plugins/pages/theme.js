const root = document.documentElement;
/** Where the choice is kept, if the browser lets a page keep something. */
const storage = () => {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
};
const chosen = storage()?.getItem('theme') ?? '';
root.dataset.theme = chosen;

/** The colours of the system, and two others; each has an icon. */
const themes = [
  ['', 'As the system', 'M8 2.75v10.5a5.25 5.25 0 0 0 0-10.5Zm0 0a5.25 5.25 0 0 0 0 10.5'],
  [
    'light',
    'Light',
    'M8 5.25a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5Zm0-3.5v1m0 10.5v1M1.75 8h1m10.5 0h1M3.6 3.6l.7.7m7.4 7.4.7.7m0-8.8-.7.7m-7.4 7.4-.7.7',
  ],
  ['dark', 'Dark', 'M13 9.4A5.4 5.4 0 1 1 6.6 3a4.4 4.4 0 0 0 6.4 6.4Z'],
];

/** The switch of the colours. This browser keeps the choice, for all pages that have the switch. */
export function themeSwitch() {
  const fieldset = document.createElement('fieldset');
  fieldset.className = 'theme seg';
  const options = themes.map(
    ([theme, label, path]) =>
      `<label title="${label}"><input type="radio" name="theme" class="unseen" value="${theme}" ${theme === chosen ? 'checked' : ''}>
        <svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg><span class="unseen">${label}</span></label>`,
  );
  fieldset.innerHTML = `<legend class="unseen">Colours</legend>${options.join('')}`;
  fieldset.onchange = ({ target }) => {
    const { value } = /** @type {HTMLInputElement} */ (target);
    root.dataset.theme = value;
    storage()?.setItem('theme', value);
  };
  return fieldset;
}
