// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "recycling_allocator.hpp"

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

/// What this thread keeps; nothing before it opens, and nothing after it has closed, when other objects of the thread
/// may still end. It has no constructor and no destructor: those of a thread are looked for at each use.
constinit thread_local std::array<Class, classes> kept{};

enum class Phase : unsigned char { unopened, open, closed };
constinit thread_local Phase phase = Phase::unopened;

struct Closing { // NOLINT(cppcoreguidelines-special-member-functions): one of each thread, never copied
    ~Closing()
    {
        phase = Phase::closed;
        for (auto& list : kept) {
            list.room = 0;
            while (list.first != nullptr)
                ::operator delete(std::exchange(list.first, list.first->next));
        }
    }
};

void open() noexcept
{
    // made here, so that it ends with the thread
    static thread_local Closing const closing;
    static_cast<void>(closing);
    phase = Phase::open;
    for (std::size_t number = 0; number < classes; ++number)
        kept[number].room = most_bytes_kept / ((number + 1) * step);
}

/** Not one of them for what is large, nor for nothing at all. */
constexpr std::size_t class_of(std::size_t size) noexcept
{
    return (size - 1) / step;
}

void keep(Class& list, void* block) noexcept
{
    list.first = ::new (block) Block{list.first};
    --list.room;
}

/** For a list that has no room, as all have at first. */
[[gnu::noinline]] void give_to_full(Class& list, void* block) noexcept
{
    if (phase == Phase::unopened)
        open();
    if (list.room == 0)
        ::operator delete(block);
    else
        keep(list, block);
}

} // namespace

void* take_block(std::size_t size)
{
    auto const number = class_of(size);
    if (number >= classes)
        return ::operator new(size);
    auto& list = kept[number];
    if (list.first == nullptr)
        return ::operator new((number + 1) * step);
    ++list.room;
    return std::exchange(list.first, list.first->next);
}

void give_block(void* block, std::size_t size) noexcept
{
    auto const number = class_of(size);
    if (number >= classes) {
        ::operator delete(block);
        return;
    }
    auto& list = kept[number];
    if (list.room == 0)
        give_to_full(list, block);
    else
        keep(list, block);
}

} // namespace tenure::detail
