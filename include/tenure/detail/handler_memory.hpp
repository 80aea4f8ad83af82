// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/associated_allocator.hpp>

#include <memory>
#include <utility>

namespace tenure::detail
{

/** Makes an object in memory of the handler's associated allocator. Asio demands that this memory is free when the
 *  handler is called: drop the last shared pointer before. Weak pointers do not keep the memory.
 *
 *  @param handler  an object with `take_handler` moves it into itself; the memory is freed before that handler ends,
 *    because the allocator may be a part of it */
template <class Object, class Handler, class... Arguments>
[[nodiscard]] std::shared_ptr<Object> make_in_handler_memory(Handler& handler, Arguments&&... arguments)
{
    using Associated = boost::asio::associated_allocator_t<Handler>;
    using Allocator = typename std::allocator_traits<Associated>::template rebind_alloc<Object>;
    Allocator allocator(boost::asio::get_associated_allocator(handler));
    auto const free = [allocator](Object* object) mutable noexcept {
        auto const end = [&] {
            std::destroy_at(object);
            allocator.deallocate(object, 1);
        };
        if constexpr (requires { object->take_handler(); }) {
            [[maybe_unused]] auto const kept = object->take_handler();
            end();
        } else {
            end();
        }
    };
    auto* const object = allocator.allocate(1);
    try {
        std::construct_at(object, std::forward<Arguments>(arguments)...);
    } catch (...) {
        allocator.deallocate(object, 1);
        throw;
    }
    return {object, free};
}

} // namespace tenure::detail
