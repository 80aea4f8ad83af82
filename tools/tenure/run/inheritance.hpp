// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <csignal>
#include <vector>

namespace tenure::tool
{

/** Open descriptors and signal dispositions that this process inherited. A command under `tenure run` gets the same,
 * without the descriptors that the program has opened since. */
class Inheritance
{
public:
    /** To be called first thing in main, before anything is opened. Makes sure that ended children are reported, that
     * a closed pipe is an error of the write, and that nothing else gets the number of a standard descriptor. */
    [[nodiscard]] static Inheritance record();

    /** The same, and one more descriptor to pass on. */
    [[nodiscard]] Inheritance with(int descriptor) const;

    /** True for a signal that the starter had set to be ignored, as nohup does with SIGHUP: it is then not for this
     * program to act on. */
    [[nodiscard]] bool ignores(int signal) const noexcept;

    /** In a freshly forked child: dispositions and mask as they were. Async-signal-safe. */
    void restore_signals() const noexcept;

    /** In a child that is about to exec: everything above standard error is closed by the exec, except for what was
     * inherited. Async-signal-safe. */
    void restore_descriptors() const noexcept;

private:
    Inheritance() = default;

    /// the descriptors above standard error, without close-on-exec
    std::vector<int> descriptors_;
    sigset_t mask_{};
    sigset_t ignored_{};
};

} // namespace tenure::tool
