// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "value.hpp"

#include <cstddef>
#include <vector>

namespace tenure::redis
{

/** Makes one answer of the replies to a transaction, in either version of the protocol: those to MULTI, to each
 * command, and to EXEC. */
class TransactionReplies
{
public:
    /** What the replies so far say. */
    enum class Progress {
        /// further ones are to come
        more,
        /// `take_result` has the answer
        done,
        /// likewise, and the server may still be queueing commands: the connection must not be used any more
        done_for_good,
        /// no server answers a transaction so
        malformed
    };

    /** @param commands  between MULTI and EXEC */
    void begin(std::size_t commands);

    /** False before `begin`, and after the last reply. */
    [[nodiscard]] bool are_awaited() const noexcept { return missing_ > 0; }

    /** The next reply. */
    [[nodiscard]] Progress take(resp::Value&& reply);

    /** True: the server refused MULTI, so it ran each command by itself. */
    [[nodiscard]] bool ran_apart() const noexcept { return ran_apart_; }

    /** EXEC's array with a reply to each command; or an error: nothing ran. If the commands `ran_apart`, an array with
     * the error that answered MULTI, and then a reply to each command. */
    [[nodiscard]] resp::Value take_result();

private:
    [[nodiscard]] Progress take_first(resp::Value&& reply);
    [[nodiscard]] Progress take_queued(resp::Value&& reply);
    [[nodiscard]] Progress take_last(resp::Value&& reply);

    std::size_t commands_ = 0;
    /// replies still to come, that to EXEC among them
    std::size_t missing_ = 0;
    bool ran_apart_ = false;
    /// the first error in the place of QUEUED, then the answer
    resp::Value result_;
    /// if they ran apart: what was answered so far
    std::vector<resp::Value> apart_;
};

} // namespace tenure::redis
