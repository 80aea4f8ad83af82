// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>

namespace bench
{

/** The messages between the conductor of a hand-over and its two players, one byte each. */
enum class Word : char {
    /// to the holder: acquire the lock, and say `done` when it is held
    acquire = 'a',
    /// to the holder: release it; answered by the instant just before, then `done` once the server confirmed it
    release = 'r',
    /// to the waiter: say `done`, wait for the lock, answer by the instant at which it is held, release it, say `done`
    wait = 'w',
    /// to both: that is all
    quit = 'q',
    done = 'd'
};

/** A socket between conductor and player. Ends of both speak blocking calls; only the library's players wait for the
 * next word in their event loop. */
class Control
{
public:
    explicit Control(int descriptor) noexcept
        : descriptor_(descriptor)
    {
    }

    void say(Word word) const;
    /** @throws std::runtime_error if nothing comes for a minute, or the other side is gone */
    [[nodiscard]] Word hear() const;
    void expect(Word word) const;
    /** The instants of both players come from one clock. */
    void notify_now() const;
    void notify(std::int64_t nanoseconds) const;
    [[nodiscard]] std::int64_t hear_instant() const;

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    void write(void const* data, unsigned long size) const;
    void read(void* data, unsigned long size) const;

    int descriptor_;
};

/** Nanoseconds of the clock that all processes of a machine share. */
[[nodiscard]] std::int64_t instant_now();

} // namespace bench
