/**
 * Gives elements of a library what they lack for people who do not see the page: by selector, the properties to set.
 * Elements that come later get them too.
 * @param {Element} root
 * @param {Record<string, object>} missing
 */
export function repair(root, missing) {
  const repairAll = () => {
    for (const [selector, members] of Object.entries(missing))
      for (const element of root.querySelectorAll(selector)) Object.assign(element, members);
  };
  new MutationObserver(repairAll).observe(root, {
    subtree: true,
    childList: true,
    attributeFilter: ['class'],
  });
}
