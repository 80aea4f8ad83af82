// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <string>
#include <string_view>

namespace tenure::redis
{

/** A name under which a store stands in lines of waiters: 32 hex digits that no other store has. */
[[nodiscard]] std::string make_waiter_name(Runtime& runtime);

/** What a message on the channel of a range says to the store of that name: `our_turn`, `others_turn` or `hint`. What
 * is no list of names, from an observer's "1" to another program's text, is a hint. */
[[nodiscard]] WatchEvent whose_turn(std::string_view message, std::string_view waiter) noexcept;

} // namespace tenure::redis
