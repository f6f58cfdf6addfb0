/** Whether this tab is visible. A hidden tab sends no requests. */
export const visibility = {
  isVisible: (): boolean => document.visibilityState === 'visible',
  /** Calls each time the tab becomes visible again; the returned function unregisters it. */
  onVisible(call: () => void): () => void {
    const onChange = (): void => {
      if (visibility.isVisible()) call();
    };
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  },
};
