// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A transaction on the wire: the request, and the replies that it brings.
#pragma once

#include "command.hpp"
#include "value.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::redis::resp
{

/** Builds a command that is a whole transaction: `MULTI`, the commands that are added, and `EXEC`, in one buffer.
 *
 *  A server answers each of them. The connection makes one outcome of these replies: see TransactionReplies. */
class Transaction
{
public:
    /** @param bytes  how many the added commands will take, about: room is made for them */
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

    /** Adds a command whose first arguments, the name among them, were encoded before. */
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
        /// likewise, and the server may still be queueing commands: the connection must not be used again
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
