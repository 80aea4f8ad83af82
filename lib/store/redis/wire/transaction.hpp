// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A transaction on the wire: the request, and its replies.
#pragma once

#include "command.hpp"
#include "value.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::redis::resp
{

/** Builds a command that is a whole transaction: `MULTI`, the added commands and `EXEC`, in one buffer.
 *
 *  A server answers each of them. TransactionReplies makes one outcome of these replies. */
class Transaction
{
public:
    /** @param bytes  approximate size of the commands, which is reserved */
    explicit Transaction(std::size_t bytes)
    {
        bytes_.reserve(begin.size() + bytes + end_of_all.size());
        bytes_.bytes_.append(begin);
    }

    /** Adds a command: `add("SET", key, owner, "NX")`. */
    template <class... Arguments>
    void add(std::string_view name, Arguments const&... arguments)
    {
        bytes_.append(most_head + EncodedArguments::most_of(name, arguments...), [&](char* const to) {
            auto* const after = EncodedArguments::put_size('*', to, 1 + sizeof...(arguments));
            return static_cast<std::size_t>(after - to) + EncodedArguments::put_all(after, name, arguments...);
        });
        ++commands_;
    }

    /** Adds a command whose first arguments, including the name, are already encoded. */
    template <class... Arguments>
    void add(EncodedArguments const& first, Arguments const&... arguments)
    {
        bytes_.append(most_head, [&](char* const to) {
            return static_cast<std::size_t>(
                EncodedArguments::put_size('*', to, first.count() + sizeof...(arguments)) - to);
        });
        bytes_.add(first);
        bytes_.add_all(arguments...);
        ++commands_;
    }

    [[nodiscard]] Command end() &&
    {
        bytes_.bytes_.append(end_of_all);
        return {std::move(bytes_), commands_};
    }

private:
    static constexpr std::string_view begin = "*1\r\n$5\r\nMULTI\r\n";
    static constexpr std::string_view end_of_all = "*1\r\n$4\r\nEXEC\r\n";
    static constexpr std::size_t most_head = EncodedArguments::most_digits + 3;

    EncodedArguments bytes_;
    std::uint32_t commands_ = 0;
};

} // namespace tenure::redis::resp

namespace tenure::redis
{

/** Combines the replies to MULTI, to each command and to EXEC into one answer, in either version of the protocol. */
class TransactionReplies
{
public:
    /** State after a reply. */
    enum class Progress {
        /// further replies follow
        more,
        /// `take_result` has the answer
        done,
        /// as `done`, but the server may still be queueing commands: the connection must not be used again
        done_for_good,
        /// not the answer to a transaction
        malformed
    };

    /** @param commands  between MULTI and EXEC */
    void begin(std::size_t commands);

    /** False before `begin`, and after the last reply. */
    [[nodiscard]] bool are_awaited() const noexcept { return missing_ > 0; }

    /** Processes the next reply. */
    [[nodiscard]] Progress take(resp::Value&& reply);

    /** True if the server refused MULTI, so that each command ran separately. */
    [[nodiscard]] bool ran_apart() const noexcept { return ran_apart_; }

    /** The command that was refused while it was queued, from 0, if nothing ran because of it. */
    [[nodiscard]] std::optional<std::size_t> refused_command() const noexcept { return refused_command_; }

    /** EXEC's array with a reply to each command; or an error: nothing ran. If the commands `ran_apart`, an array with
     *  the error for MULTI and a reply to each command. A proxy may refuse a command itself, and pass EXEC on: then the
     *  refusal is the reply to that command, and the others ran. */
    [[nodiscard]] resp::Value take_result();

private:
    [[nodiscard]] Progress take_first(resp::Value&& reply);
    [[nodiscard]] Progress take_queued(resp::Value&& reply);
    [[nodiscard]] Progress take_last(resp::Value&& reply);
    [[nodiscard]] resp::Value with_refused(resp::Value const& ran);

    std::size_t commands_ = 0;
    /// missing replies, including the reply to EXEC
    std::size_t missing_ = 0;
    bool ran_apart_ = false;
    /// the answer
    resp::Value result_;
    /// the commands that were answered with an error instead of QUEUED, by their number
    std::vector<std::pair<std::size_t, resp::Value>> refused_;
    std::optional<std::size_t> refused_command_;
    /// if the commands ran separately: the replies so far
    std::vector<resp::Value> apart_;
};

} // namespace tenure::redis
