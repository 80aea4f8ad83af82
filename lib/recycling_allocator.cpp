// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/detail/recycling_allocator.hpp>

#include <array>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TENURE_RECYCLES_NOTHING
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENURE_RECYCLES_NOTHING
#endif

namespace tenure::detail
{

namespace
{

/// sizes are rounded up to these steps
constexpr std::size_t step = 64;
constexpr std::size_t classes = 12;
#ifdef TENURE_RECYCLES_NOTHING
constexpr std::size_t most_bytes_kept = 0;
#else
/// of a class: what hundreds of renewals that leave together need
constexpr std::size_t most_bytes_kept = std::size_t{64} * 1024;
#endif

struct Block {
    Block* next;
};

struct Class {
    Block* first = nullptr;
    /// how many more blocks are kept
    std::size_t room = 0;
};

/** What one thread keeps. Other objects of the thread may end later than this one and still free: then it keeps
 * nothing. */
struct Cache {
    std::array<Class, classes> kept{};

    constexpr Cache()
    {
        for (std::size_t number = 0; number < classes; ++number)
            kept[number].room = most_bytes_kept / ((number + 1) * step);
    }
    Cache(Cache const&) = delete;
    Cache& operator=(Cache const&) = delete;
    ~Cache()
    {
        for (auto& list : kept) {
            list.room = 0;
            while (list.first != nullptr)
                ::operator delete(std::exchange(list.first, list.first->next));
        }
    }
};

constinit thread_local Cache cache;

constexpr std::size_t class_of(std::size_t size) noexcept
{
    return size == 0 ? 0 : (size - 1) / step;
}

} // namespace

void* take_block(std::size_t size)
{
    auto const number = class_of(size);
    if (number >= classes)
        return ::operator new(size);
    auto& list = cache.kept[number];
    if (list.first == nullptr)
        return ::operator new((number + 1) * step);
    ++list.room;
    return std::exchange(list.first, list.first->next);
}

void give_block(void* block, std::size_t size) noexcept
{
    auto const number = class_of(size);
    if (number >= classes || cache.kept[number].room == 0) {
        ::operator delete(block);
        return;
    }
    auto& list = cache.kept[number];
    list.first = ::new (block) Block{list.first};
    --list.room;
}

} // namespace tenure::detail
