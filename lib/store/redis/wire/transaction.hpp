// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tenure::redis::resp
{

/** Builds a command that is a whole transaction: `MULTI`, the commands that are added, and `EXEC`, in one buffer.
 *
 *  A server answers each of them. The connection makes one outcome of these replies: see transaction_replies.hpp. */
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
